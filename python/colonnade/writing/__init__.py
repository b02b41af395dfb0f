"""Writing data sets: by entries, by arrays or from several threads."""
