// The file with the secrets of local runs, beside the wrangler file.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** An environment's own file is read in place of the common one. Undefined: there is none. */
export function devVarsFile(folder: string, environment: string | undefined): string | undefined {
  const names =
    environment === undefined ? ['.dev.vars'] : [`.dev.vars.${environment}`, '.dev.vars'];
  return names.map((name) => join(folder, name)).find((path) => existsSync(path));
}
