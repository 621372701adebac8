// A placeholder for the answering side, which this bench does not need.
process.send({ addresses: [] });
process.on("disconnect", () => process.exit());
