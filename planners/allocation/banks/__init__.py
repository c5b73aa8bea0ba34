"""Which of several memories each lifetime goes to, and where: least bytes through slow ones."""
