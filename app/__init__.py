"""The explorer: a web page on which plans are made, seen and stepped through."""
