"""Drawing on matplotlib axes. Every function draws one idea on axes that the caller made."""
