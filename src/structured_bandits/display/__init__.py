"""Tables, texts, figures and pages, made from plain records."""
