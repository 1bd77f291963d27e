"""Feature blocks and what they make of documents: streams of symbols, bags of items."""
