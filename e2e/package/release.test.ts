// The parts of a release: the files that are packed, and the workflow that publishes them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EMULATOR, manifestOf } from './entry-modules.ts';
import { RUNTIMES } from './runtimes.ts';

const WORKFLOWS = '.github/workflows';
const workflows = readdirSync(WORKFLOWS).map((name) => ({
  name,
  text: readFileSync(join(WORKFLOWS, name), 'utf8'),
}));
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));

test('[PKG14] the security policy is packed, and names a way to report that needs only the package', () => {
  expect(manifest.files).toContain('SECURITY.md');
  expect(readFileSync('SECURITY.md', 'utf8')).toContain(`npm owner ls ${manifest.name}`);
});

test('[PKG15] every action of a workflow is pinned by a digest, with its version', () => {
  const used = workflows.flatMap(({ name, text }) =>
    text
      .split('\n')
      .filter((line) => /^\s*(?:- )?uses:/.test(line))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(used.length).toBeGreaterThan(3);
  const pinned = /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
  expect(used.filter((line) => !pinned.test(line))).toEqual([]);
});

test('[PKG15] the release is published with provenance, and by nothing else', () => {
  const publishing = workflows.filter(({ text }) => text.includes('npm publish'));
  expect(publishing.map(({ name }) => name)).toEqual(['release.yml']);
  const { text } = publishing[0]!;
  const { name } = manifestOf(EMULATOR);
  expect(name).not.toContain('/'); // the workflow names its file by it
  expect(text.match(/npm publish .*/g)).toEqual([
    expect.stringMatching(/package\.tgz" --provenance/),
    expect.stringMatching(/packages\/management\/package\.json.* --provenance/),
  ]);
  expect(text).toMatch(/^ {6}id-token: write$/m);
  const others = workflows.filter(({ name }) => name !== 'release.yml');
  for (const other of others) expect(other.text).not.toContain('id-token');
});

test('[PKG23] the documents name the versions of Deno and Bun that run the package before a release', () => {
  const table = readFileSync('docs/bundlers.md', 'utf8');
  const tested = RUNTIMES.map(({ name, version }) => `${name} ${version}`);
  const named = [...table.matchAll(/^(Deno|Bun) \| ([\d.]+) \|/gm)];
  expect(named.map(([, name, version]) => `${name} ${version}`)).toEqual(tested);
});
