// The free instrument: drawn for the usual settings first; those in the address follow as soon as Python is there.

const place = document.getElementById("instrument");
const data = document.querySelector("script[data-piece]");
const show = (traits) => render({ model: hosted(traits), el: place });
const { search } = location;
const query = [...new URLSearchParams(search)];
if (query.length) {
  desk.ask({ do: "explore", query }).then(({ traits }) => show(traits), (error) => tellFailure(place, error)).then(keepOffline);
} else {
  show(JSON.parse(data.textContent));
  desk.ask({ do: "explore", query }).then(keepOffline, (error) => tellFailure(place, error)); // so that the first turn of a dial need not wait
}
