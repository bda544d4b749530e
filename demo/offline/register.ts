// Registers the service worker, which keeps the site for visits without a network. Only a built site has one.

export function keepOffline(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  const register = () => {
    navigator.serviceWorker
      .register(new URL('service-worker.js', document.baseURI), { scope: './' })
      .catch((error) => console.warn('The site is not kept for visits without a network.', error));
  };
  if (document.readyState === 'complete') register();
  else window.addEventListener('load', register, { once: true });
}
