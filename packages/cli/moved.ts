// Former subcommands of `ctx-storage`, and the commands of the emulator's package that replace them.

import { EMULATOR } from '../command-line/emulator.ts';

export const MOVED: Readonly<Record<string, string>> = {
  deprecations: `npx ${EMULATOR}`,
  management: `npx ${EMULATOR} serve`,
};
