// The entry `ctx-storage/inspector`: a panel for developers that shows and changes objects, their keys, tables and
// history.
//
// It draws in a shadow root, so its styles do not affect the app, nor the app's styles the inspector. It uses only the
// public interface of handles and connections.

import { h, render } from 'preact';
import { Inspector } from './inspector.tsx';
import type { InspectorSource } from './source.ts';
import { STYLES } from './styles.ts';

export type { DrivenClock } from './clock-time.ts';
export type { InspectedObjects, InspectorSource } from './source.ts';

/** A mounted inspector. */
export interface MountedInspector {
  /** Removes the inspector, and closes the handles that it opened. */
  unmount(): void;
}

/**
 * Shows an inspector in the element, and fills the element. Use it only in development, because the inspector reads and
 * changes everything that the objects store.
 *
 * Light and dark colours follow the element's `color-scheme`.
 */
export function mountInspector(element: HTMLElement, source: InspectorSource): MountedInspector {
  const host = document.createElement('div');
  host.style.cssText = 'display: block; height: 100%; min-height: 0';
  const root = host.attachShadow({ mode: 'open' });
  // A style sheet object works even if the page's Content-Security-Policy refuses `<style>` elements.
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
