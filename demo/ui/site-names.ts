// Writes the addresses that only the owner of the package can set from its manifest into the head of every page.
//
// Invariant: an address that is not set is not linked, and a wrong one fails the build.

import type { Plugin } from 'vite';

export type SiteName = 'guide' | 'repository';

/** The fields of `package.json` that contain addresses of sites. */
export interface SiteManifest {
  readonly homepage?: string;
  readonly repository?: string | { readonly url: string };
}

/** Returns the address that the page has for a name, or null. */
export function nameIn(page: Document, name: SiteName): string | null {
  return page.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null;
}

/** Makes a Vite plugin that writes the addresses into each page. @throws Error if one is not the address of a site */
export function siteNames({ homepage, repository }: SiteManifest): Plugin {
  const source = typeof repository === 'object' ? repository.url : repository;
  const names: Readonly<Record<SiteName, string | undefined>> = {
    guide: homepage,
    repository: source?.replace(/^git\+/, '').replace(/\.git$/, ''),
  };
  const tags = Object.entries(names).flatMap(([name, content]) => {
    if (content === undefined) return [];
    if (!/^https:\/\/[^\s"<>]+$/.test(content)) {
      throw new Error(`package.json: the ${name} “${content}” is not an https address.`);
    }
    return [{ tag: 'meta', attrs: { name, content }, injectTo: 'head' as const }];
  });
  return { name: 'site-names', transformIndexHtml: () => tags };
}
