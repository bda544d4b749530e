// npm run without-glibc -- [arguments of playwright test]
//
// Runs the tests of `npx ctx-storage dev` with a Node on musl, in a root that has no glibc. Linux on x64, as root, with
// Debian's packages `musl-tools`, `libstdc++6` and `busybox-static` (for the shell that runs a project's own build).
//
// The npm registry has no such Node, but pnpm's executable for musl is one, with a program inside: one byte of it says
// whether that program is run. Debian has no C++ library for musl: its own is used, with the functions that it expects
// of glibc beside it.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from '../../browsers/server.ts';

/** Its Node is 26.0.0. */
const EXECUTABLE = '@pnpm/linuxstatic-x64@11.21.0';

/** Node's own mark of an executable with a program in it; `1` after it: the program is run. */
const MARK = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';

const LIBRARIES = '/usr/lib/x86_64-linux-gnu';
const MUSL = '/lib/x86_64-linux-musl/libc.so';
const LOADER = 'ld-musl-x86_64.so.1';

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-musl-'));
try {
  const root = makeRoot();
  const node = join(folder, 'node');
  writeFileSync(node, `#!/bin/sh\nexec unshare --root=${root} --wd="$PWD" /bin/node "$@"\n`, {
    mode: 0o755,
  });
  checkNode(node);
  process.exitCode = runTests(root, node);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The root of a system: musl, Node, and nothing else. */
function makeRoot(): string {
  const root = join(folder, 'root');
  for (const name of ['bin', 'lib', 'dev', 'proc', 'tmp', REPOSITORY]) {
    mkdirSync(join(root, name), { recursive: true });
  }
  const library = (name: string) => join(root, 'lib', name);
  copyFileSync(MUSL, library(LOADER));
  execFileSync('chmod', ['+x', library(LOADER)]);
  // The names by which the C++ library and Node ask for the C library.
  for (const name of ['libc.musl-x86_64.so.1', 'ld-linux-x86-64.so.2']) {
    symlinkSync(LOADER, library(name));
  }
  for (const name of ['libstdc++.so.6', 'libgcc_s.so.1']) {
    copyFileSync(join(LIBRARIES, name), library(name));
  }
  copyFileSync('/bin/busybox', join(root, 'bin/sh'));
  compile('missing-symbols.c', library('missing-symbols.so'), '-shared', '-fPIC');
  compile('start-node.c', join(root, 'bin/node'), '-static');
  writeFileSync(join(root, 'bin/node-on-musl'), plainNode(), { mode: 0o755 });
  return root;
}

function compile(source: string, to: string, ...options: readonly string[]): void {
  const path = join(import.meta.dirname, source);
  execFileSync('musl-gcc', ['-O1', '-Wall', ...options, path, '-o', to], { stdio: 'inherit' });
}

function plainNode(): Buffer {
  const quiet = { cwd: folder, encoding: 'utf8' } as const;
  const packed = execFileSync('npm', ['pack', '--silent', EXECUTABLE], quiet).trim();
  execFileSync('tar', ['-xzf', packed], quiet);
  const bytes = readFileSync(join(folder, 'package/pnpm'));
  const at = bytes.indexOf(MARK) + MARK.length;
  if (at < MARK.length || bytes[at] !== 0x31) throw new Error(`${EXECUTABLE} has no mark.`);
  bytes[at] = 0x30;
  return bytes;
}

/** @throws Error if it has a glibc */
function checkNode(node: string): void {
  const facts =
    '[process.version, process.report.getReport().header.glibcVersionRuntime ?? "none"]';
  const text = execFileSync(node, ['-p', `JSON.stringify(${facts})`], {
    cwd: '/',
    encoding: 'utf8',
  });
  const [version, glibc] = JSON.parse(text) as [string, string];
  if (glibc !== 'none') throw new Error(`This Node runs on glibc ${glibc}.`);
  console.log(`Node ${version} on musl, glibc: ${glibc}`);
}

/** The projects of the tests, and the tools that they link, are seen in the root at the same paths. */
function runTests(root: string, node: string): number {
  const shared = ['/dev', '/proc', '/tmp', REPOSITORY];
  const mounts = shared.map((path) => `mount --rbind "${path}" "${root}${path}"`);
  const tests = `npx vitest run --project packed --project long e2e/packed/dev "$@"`;
  const script = [...mounts, tests].join(' && ');
  // Certificates of this machine are not in the root.
  const { NODE_EXTRA_CA_CERTS: _certificates, ...env } = process.env;
  const { status } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', ...process.argv.slice(2)],
    { cwd: REPOSITORY, env: { ...env, NODE_OF_DEV: node }, stdio: 'inherit' },
  );
  return status ?? 1;
}
