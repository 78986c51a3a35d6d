"""How the data of the embedded judges is made. Not part of the installed package."""
