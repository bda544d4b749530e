// The demo as a build, on a server that sends its policy with every file; and a watch over a page that
// reports scripts that ran, files that were fetched, and actions that the policy stopped.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import type { Page } from '@playwright/test';
import { folderMount } from '../../browsers/server.ts';
import { listening, type StaticSite } from '../../browsers/static-site.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
};

/** The policy that the page itself carries. */
export function policyOf(html: string): string {
  const policy = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(html)?.[1];
  if (policy === undefined) throw new Error('The page carries no policy.');
  return policy;
}

/** Serves a folder; a worker has the policy its own answer carries, not its page's. */
export async function serveBuilt(folder: string): Promise<StaticSite> {
  const policy = policyOf(readFileSync(join(folder, 'index.html'), 'utf8'));
  const mount = folderMount(folder);
  const server = createServer(async ({ url }, response) => {
    const path = new URL(url ?? '/', 'http://localhost').pathname;
    const file = mount(path === '/' ? '/notes.html' : path);
    try {
      if (file === null) throw new Error('outside the folder');
      const content = await readFile(file);
      response.setHeader('content-security-policy', policy);
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  return await listening(server);
}

export interface PageWatch {
  /** Scripts that ran, requests to other origins, dialogs, and actions that the policy stopped. */
  incidents(): Promise<string[]>;
}

declare global {
  interface Window {
    violations?: string[];
    pwned?: unknown;
  }
}

/** To be called before the page is opened. */
export async function watchPage(page: Page, origin: string): Promise<PageWatch> {
  const seen: string[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === origin || url.protocol === 'data:' || url.protocol === 'blob:';
    if (!isOwn || url.pathname.includes('pwned')) seen.push(`fetched ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    seen.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => seen.push(`uncaught ${error.message}`));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      window.violations!.push(
        `${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
      );
    });
  });
  return {
    async incidents() {
      const [violations, pwned] = await page.evaluate(
        () => [window.violations, window.pwned] as const,
      );
      return [
        ...seen,
        ...(violations ?? ['nothing watches']).map((violation) => `violation ${violation}`),
        ...(pwned === undefined ? [] : [`ran: ${String(pwned)}`]),
      ];
    },
  };
}
