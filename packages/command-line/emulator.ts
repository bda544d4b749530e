// The name and version of the emulator's package, read from its manifest. Code that needs the name imports it from
// here, so that only the manifest contains it.

import manifest from '../management/package.json' with { type: 'json' };

export const EMULATOR: string = manifest.name;
export const EMULATOR_VERSION: string = manifest.version;
