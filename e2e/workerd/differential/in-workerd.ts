// A class of this folder that takes its bases, asked everything in workerd.

import { askWorkerd } from '../workerd.ts';

/** A class: its module, the function that makes it, and the function that asks it everything. */
export interface Asked {
  readonly module: string;
  readonly className: string;
  readonly make: string;
  readonly ask: string;
  /** Classes that the script exports besides, with the functions that make them. */
  readonly exports?: Readonly<Record<string, string>>;
}

export async function askInWorkerd(asked: Asked): Promise<Record<string, unknown>> {
  const { module, className, make, ask, exports = {} } = asked;
  const others = Object.entries(exports);
  const main = `
    import * as bases from 'cloudflare:workers';
    import { ${[ask, make, ...others.map(([, maker]) => maker)].join(', ')} } from './${module}';
    export const ${className} = ${make}(bases);
    ${others.map(([name, maker]) => `export const ${name} = ${maker}(bases);`).join('\n')}
    export default {
      async fetch(_request, env) {
        return Response.json(await ${ask}(env.${className}));
      },
    };`;
  const answers = await askWorkerd({
    main,
    folder: import.meta.dirname,
    classes: { [className]: className },
    compatibilityDate: '2026-07-01',
    compatibilityFlags: ['enable_nodejs_global_timers'],
  });
  return answers as Record<string, unknown>;
}
