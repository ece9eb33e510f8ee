"""One exact transformation a module, and which weights read and write the stream."""
