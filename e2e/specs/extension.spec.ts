// The package in a page of a browser extension: its origin is not of the web, and its policy comes from a manifest.

import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { installPacked } from '../package/installed.ts';

const GUIDE = readFileSync(join(REPOSITORY, 'docs/security.md'), 'utf8');
/** The line that the guide has for the manifest. */
const [, POLICY = ''] = /"extension_pages": "(.+)" \}/.exec(GUIDE) ?? [];

const SCRIPT = `
  import { openStorage } from 'ctx-storage';
  openStorage('extension').then(
    async (storage) => {
      const count = (await storage.get('count') ?? 0) + 1;
      await storage.put('count', count);
      document.title = 'count ' + count + ' in ' + storage.medium;
    },
    (error) => { document.title = String(error); },
  );
`;

test('[PKG21] a page of an extension stores on OPFS, if its manifest allows WebAssembly', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ profile }) => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-storage-extension-')));
  try {
    await installPacked(directory);
    writeFileSync(join(directory, 'index.html'), '<script type="module" src="./main.js"></script>');
    writeFileSync(join(directory, 'main.js'), SCRIPT);
    const built = join(directory, 'built');
    await build({
      configFile: false,
      root: directory,
      logLevel: 'error',
      build: { outDir: built, target: 'esnext' },
    });
    const allow = (extension_pages: string) => {
      const policy = { content_security_policy: { extension_pages } };
      const manifest = { manifest_version: 3, name: 'test', version: '1', ...policy };
      writeFileSync(join(built, 'manifest.json'), JSON.stringify(manifest));
    };
    const titleOfPage = async () => {
      const flags = ['--disable-extensions-except', '--load-extension'];
      await profile.launch(flags.map((flag) => `${flag}=${built}`));
      const page = await profile.newPage();
      await page.goto(`chrome-extension://${idOf(built)}/index.html`);
      await expect(page).not.toHaveTitle('');
      const title = await page.title();
      await profile.quit();
      return title;
    };
    allow(POLICY);
    expect(await titleOfPage()).toBe('count 1 in opfs');
    expect(await titleOfPage()).toBe('count 2 in opfs');
    allow("script-src 'self'; object-src 'self'");
    expect(await titleOfPage()).toContain("'wasm-unsafe-eval'");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

/** Chromium names an unpacked extension after its folder. */
function idOf(folder: string): string {
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 32);
  return digest.replace(/./g, (digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)]!);
}
