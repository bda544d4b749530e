// The version of the package `ctx-storage`, for files that it writes. A test compares it with package.json.

export const VERSION = '0.1.0';
