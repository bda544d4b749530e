// The version of the package `ctx-storage`, which the program prints and writes into new projects. A test compares it
// with package.json.

export const VERSION = '0.1.0';
