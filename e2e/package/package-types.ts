// The declarations of the published packages, for new compilers and for older ones.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PublishedPackage } from './entry-modules.ts';
import { rollUpTypes } from './roll-up-types.ts';

/** Writes `dist/types` and `dist/types-5.4` of each package. */
export async function writeTypes(packages: readonly PublishedPackage[]): Promise<void> {
  const perFile = mkdtempSync(join(tmpdir(), 'ctx-storage-types-'));
  try {
    const compile = [
      'node_modules/typescript/bin/tsc',
      '-p',
      'e2e/package/types',
      '--outDir',
      perFile,
    ];
    execFileSync(process.execPath, compile, { stdio: 'inherit' });
    for (const { folder, modules } of packages) {
      const entries = Object.entries(modules).map(
        ([name, module]) => [name, join(perFile, module.replace(/\.ts$/, '.d.ts'))] as const,
      );
      const types = join(folder, 'dist/types');
      await rollUpTypes(Object.fromEntries(entries), types, perFile);
      writeOlderTypes(types, join(folder, 'dist/types-5.4'));
    }
  } finally {
    rmSync(perFile, { recursive: true });
  }
}

/** The declarations for TypeScript 5.4 to 5.6, where typed arrays have no parameter. */
function writeOlderTypes(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  for (const file of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = readFileSync(join(to, file), 'utf8')
      .replaceAll(/\b(\w+Array|ArrayBufferView|DataView)<ArrayBuffer(?:Like)?>/g, '$1')
      .replaceAll(/\bArrayIterator</g, 'IterableIterator<');
    writeFileSync(join(to, file), text);
  }
}
