// Stands where another bench has an answering side.
process.send({ addresses: [] });
process.on("disconnect", () => process.exit());
