// `ctx-storage/inspector`: looks into objects while an app is developed: objects, keys, tables, SQL, history.
//
// It draws in a shadow root, so neither its styles nor those of the app reach the other. It uses only the
// public interface: handles and connections.

import { h, render } from 'preact';
import { Inspector } from './inspector.tsx';
import type { InspectorSource } from './source.ts';
import { STYLES } from './styles.ts';

export type { DrivenClock } from './clock-time.ts';
export type { InspectedObjects, InspectorSource } from './source.ts';

/** A mounted inspector. */
export interface MountedInspector {
  /** Removes it, and closes the handles that it opened. */
  unmount(): void;
}

/**
 * Shows an inspector in the element, whose size it takes. For development: it reads and changes everything that
 * the objects store.
 *
 * Light and dark follow the element's `color-scheme`.
 */
export function mountInspector(element: HTMLElement, source: InspectorSource): MountedInspector {
  const host = document.createElement('div');
  host.style.cssText = 'display: block; height: 100%; min-height: 0';
  const root = host.attachShadow({ mode: 'open' });
  // Not an element with styles, which a page's Content-Security-Policy may refuse.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  const content = document.createElement('div');
  content.className = 'inspector';
  root.append(content);
  element.append(host);
  render(h(Inspector, { source }), content);
  return {
    unmount() {
      render(null, content);
      host.remove();
    },
  };
}
