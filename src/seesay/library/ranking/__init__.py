"""From a query to photos in their order, with calibrated scores."""
