// Maps each former subcommand of `ctx-storage` to the command of the emulator's package that replaces it.

import { EMULATOR } from '@ctx-storage/command-line/emulator';

export const MOVED: Readonly<Record<string, string>> = {
  deprecations: `npx ${EMULATOR}`,
  management: `npx ${EMULATOR} serve`,
};
