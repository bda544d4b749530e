// The name and version of the emulator's package. Its manifest is the only place of the name: whoever needs it in code,
// also the program that names its successor, reads it here.

import manifest from '../management/package.json' with { type: 'json' };

export const EMULATOR: string = manifest.name;
export const EMULATOR_VERSION: string = manifest.version;
