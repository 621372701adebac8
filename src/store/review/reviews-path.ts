/** In the data folder. By itself, so that whoever only watches it need not load the store. */
export const REVIEWS_FILE = "reviews.db";
