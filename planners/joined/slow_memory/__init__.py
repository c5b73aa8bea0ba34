"""Joined plans on machines with slower memories on chip behind the scratchpad."""
