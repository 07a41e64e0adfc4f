"""The contents of a logic analyser's file: edges on two wires."""
