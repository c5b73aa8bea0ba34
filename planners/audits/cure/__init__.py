"""Better plans for other tools' runtimes, written back as those read them."""
