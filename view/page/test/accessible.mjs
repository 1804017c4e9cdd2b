// What everyone needs of a page: names of what can be used, and text that stands out (WCAG 2.1, 4.1.2 and 1.4.3).

/** Markup of the controls that have no name, hidden ones too. */
export const nameless = (page, selector) => page.evaluate((chosen) => [...document.querySelectorAll(chosen)]
  .filter((element) => !(element.ariaLabel || element.title || element.getAttribute('aria-labelledby') || element.labels?.length || element.textContent.trim()))
  .map((element) => element.outerHTML), selector);

/** Texts that are shown with a contrast below 4.5 to what is behind them. */
export const faint = (page, selector) => page.evaluate((chosen) => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
    return 'rgb(255,255,255)';
  };
  const shown = (element) => element.getClientRects().length > 0 && element.textContent.trim() && !element.disabled && !element.closest(':disabled');
  return [...document.querySelectorAll(chosen)].filter(shown).flatMap((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(back(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    return contrast < 4.5 ? [`${element.textContent.slice(0, 40)}: ${contrast.toFixed(2)}`] : [];
  });
}, selector);
