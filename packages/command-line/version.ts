// The version of this package, for files that it writes. A test compares it with package.json.

export const VERSION = '0.1.0';
