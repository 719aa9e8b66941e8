"""What a crowd adds: the loss of a report that lies among others whose order nobody knows."""
