"""Reports as pages that open anywhere: drawing in SVG, safe text, one look in light and dark."""
