// The declarations that code is checked against: those of the language, a web worker's globals, and this package's own.
// All of it is text, so that nothing here runs.

/** TypeScript's names for its own files have no folder. */
export const LIBRARY_FOLDER = '/lib/';

const OWN_FOLDER = '/demo/checker/';
export const GLOBALS_FILE = `${OWN_FOLDER}library/globals.d.ts`;
export const NAMESPACES_FILE = `${OWN_FOLDER}library/namespaces.d.ts`;
export const WORKERS_FILE = `${OWN_FOLDER}library/workers.d.ts`;

const ofTypeScript = import.meta.glob<string>(
  [
    '../../node_modules/typescript-6/lib/lib.{es5,es2*,esnext*,decorators*}.d.ts',
    '../../node_modules/typescript-6/lib/lib.webworker{,.iterable,.asynciterable}.d.ts',
    '!../../node_modules/typescript-6/lib/lib.*.full.d.ts',
  ],
  { query: '?raw', import: 'default', eager: true },
);

const ofThePackage = import.meta.glob<string>(
  [
    './library/*.d.ts',
    '../../src/shared/contract/*.ts',
    '!../../src/shared/contract/*.test.ts',
    '../../worker/realm/library/base-classes.ts',
  ],
  { query: '?raw', import: 'default', eager: true },
);

/** Texts by absolute path; those of the package as in the repository, because they import each other. */
export const DECLARATIONS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ofTypeScript).map(
    ([path, text]) => [path.replace(/^.*\//, LIBRARY_FOLDER), text] as const,
  ),
  ...Object.entries(ofThePackage).map(
    ([path, text]) => [path.replace(/^\.\//, OWN_FOLDER).replace('../../', '/'), text] as const,
  ),
]);
