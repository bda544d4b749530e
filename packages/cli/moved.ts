// Former subcommands of `ctx-storage`, and the commands of the emulator's package that replace them.

import { EMULATOR } from '@ctx-storage/command-line/emulator';

export const MOVED: Readonly<Record<string, string>> = {
  deprecations: `npx ${EMULATOR}`,
  management: `npx ${EMULATOR} serve`,
};
