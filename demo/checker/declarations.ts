// Collects the declarations that code is checked against: those of the language, of a web worker's globals, and of this
// package. All of them are texts, so none of their code runs.

/** The folder of TypeScript's own declarations, whose names have none. */
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

/**
 * The texts by absolute path. Those of the package have the paths of the repository, because they import each other.
 */
export const DECLARATIONS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ofTypeScript).map(
    ([path, text]) => [path.replace(/^.*\//, LIBRARY_FOLDER), text] as const,
  ),
  ...Object.entries(ofThePackage).map(
    ([path, text]) => [path.replace(/^\.\//, OWN_FOLDER).replace('../../', '/'), text] as const,
  ),
]);
