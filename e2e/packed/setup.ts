// Before tests of the packed package in Node: the package is packed, unless the run has done it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packTo } from '../package/pack.ts';

export default function setup(): (() => void) | undefined {
  if (process.env.PACKED_FILE !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-packed-'));
  process.env.PACKED_FILE = join(folder, 'package.tgz');
  packTo(process.env.PACKED_FILE);
  return () => rmSync(folder, { recursive: true, force: true });
}
