// The two modules that are made for a project: the worker that serves its classes, and the function
// by which a page starts it.
//
// Invariant: whatever a configuration or a path says appears in them as a JSON string, and so is text
// and never code.

import type { ObjectsConfig } from './wrangler-config.ts';

/** Where the generated modules find things: specifiers as they write them. */
export interface ModulePaths {
  /** `ctx-storage/worker`. */
  readonly library: string;
  /** The module that exports the classes. */
  readonly main: string;
  /** How messages name it, and the configuration. */
  readonly mainName: string;
  readonly configName: string;
}

/** The worker. A class that `main` does not export fails its start, by name. */
export function workerModule(config: ObjectsConfig, paths: ModulePaths): string {
  const classes = config.classes.map(({ name, storage }) => {
    const text = JSON.stringify(name);
    return `  ${text}: { class: exported(${text}), storage: ${JSON.stringify(storage)} },`;
  });
  const options = {
    bindings: config.bindings,
    scriptName: config.scriptName,
    compatibilityDate: config.compatibilityDate,
    env: config.vars,
  };
  const missing =
    ` is a class of ${paths.configName}, and ${paths.mainName} exports nothing of that name; ` +
    'export the class.';
  return [
    `import { serve } from ${JSON.stringify(paths.library)};`,
    `import * as main from ${JSON.stringify(paths.main)};`,
    '',
    'function exported(name) {',
    '  if (name in main) return main[name];',
    `  throw new TypeError(name + ${JSON.stringify(missing)});`,
    '}',
    '',
    'serve({',
    ...classes,
    `}, ${JSON.stringify(options, null, 2)});`,
    '',
  ].join('\n');
}

/** The function that starts the worker, in the form bundlers recognise. */
export function startModule(workerFile: string): string {
  return [
    'export default function startObjects() {',
    `  return new Worker(new URL(${JSON.stringify(`./${workerFile}`)}, import.meta.url), { type: 'module' });`,
    '}',
    '',
  ].join('\n');
}
