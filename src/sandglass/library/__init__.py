"""What `import sandglass` offers to a script or a notebook."""
