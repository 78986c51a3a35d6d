"""One reader per file format; each fills a `Builder`."""
