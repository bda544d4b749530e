// The modules that are made for a project: the worker that serves its classes, the one that fills `env`
// before they are evaluated, and the function by which a page starts the worker.
//
// Invariant: whatever a configuration or a path says appears in them as a JSON string, and so is text
// and never code.

import type { ObjectsConfig } from './wrangler-config.ts';

/** Where the generated modules find things: specifiers as they write them. */
export interface ModulePaths {
  /** `ctx-storage/worker`. */
  readonly library: string;
  /** The module that fills `env`. */
  readonly env: string;
  /** The module that exports the classes. */
  readonly main: string;
  /** How messages name it, and the configuration. */
  readonly mainName: string;
  readonly configName: string;
}

/** Fills `env`, and has the options of `serve`. */
export function envModule(config: ObjectsConfig, library: string): string {
  const options = {
    bindings: config.bindings,
    scriptName: config.scriptName,
    compatibilityDate: config.compatibilityDate,
    env: config.vars,
  };
  return [
    `import { provideEnv } from ${JSON.stringify(library)};`,
    '',
    `export const options = ${JSON.stringify(options, null, 2)};`,
    'provideEnv(options.env, options);',
    '',
  ].join('\n');
}

/** The worker. A class that `main` does not export fails its start, by name. */
export function workerModule(config: ObjectsConfig, paths: ModulePaths): string {
  const classes = config.classes.map(({ name, storage }) => {
    const text = JSON.stringify(name);
    return `  ${text}: { class: exported(${text}), storage: ${JSON.stringify(storage)} },`;
  });
  const missing =
    ` is a class of ${paths.configName}, and ${paths.mainName} exports nothing of that name; ` +
    'export the class.';
  return [
    // Imported first, so evaluated first: modules of `main` read env.
    `import { options } from ${JSON.stringify(paths.env)};`,
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
    '}, options);',
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
