// The version of this package, for what is written by it. A test compares it with package.json.

export const VERSION = '0.1.0';
