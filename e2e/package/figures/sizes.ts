// The sizes of the package that is installed in a folder, in bytes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { sizeOf } from '../../packed/bundled.ts';

/** Measures the sizes, by the names of the documents' figures; with brotli unless the name says otherwise. */
export async function measuredSizes(folder: string): Promise<Record<string, number>> {
  const file = (name: string) => readFileSync(join(folder, 'node_modules/ctx-storage/dist', name));
  const brotli = (name: string) => brotliCompressSync(file(name)).length;
  const start = await sizeOf(folder, "export { openStorage } from 'ctx-storage'");
  const inspector = await sizeOf(folder, "export { mountInspector } from 'ctx-storage/inspector'");
  const page = start.bytes + start.later;
  const [worker, sqlite] = [brotli('worker.js'), brotli('sqlite3.wasm')];
  return {
    page,
    worker,
    'worker, plain': file('worker.js').length,
    late: brotli('late.js'),
    'late, plain': file('late.js').length,
    sqlite,
    code: page + worker,
    'first visit': page + worker + sqlite,
    inspector: inspector.bytes + inspector.later,
  };
}
